package cloud

import "maps"

// Mark is the tag, or in GKE the label, of a cluster that an operator has created. Its value is the UID of the
// HostedCluster. The request that creates the cluster sets it, so each of our clusters has it, and no other one
// does.
const Mark = "spillway-hosted-cluster"

// marksOf returns the field of a configuration that has the tags.
func marksOf(config map[string]any) string {
	if config["projectID"] != nil {
		return "labels" // Only GKE has projects.
	}
	return "tags"
}

// Marked returns the configuration of a new cluster, with the mark.
func Marked(config map[string]any, uid string) map[string]any {
	return Put(config, marksOf(config)+"."+Mark, uid)
}

// IsMarked reports whether a cluster was created for the HostedCluster with this UID.
func IsMarked(config map[string]any, uid string) bool {
	return uid != "" && Text(config, marksOf(config)+"."+Mark) == uid
}

// Unmarked returns the configuration without the mark, which is not a field of any spec.
func Unmarked(config map[string]any) map[string]any {
	tags, _ := config[marksOf(config)].(map[string]any)
	if tags[Mark] == nil {
		return config
	}
	tags = maps.Clone(tags)
	delete(tags, Mark)
	return Put(config, marksOf(config), tags)
}
