package cloud

import "maps"

// Mark is the tag, or in GKE the label, that a cluster has which an operator has made: its
// value is the UID of the HostedCluster. It comes with the request that makes the cluster, so
// none of ours is without it, and one that was there before never has it.
const Mark = "spillway-hosted-cluster"

// marksOf is the field of a configuration that has the tags.
func marksOf(config map[string]any) string {
	if config["projectID"] != nil {
		return "labels" // Only those of GKE are in a project.
	}
	return "tags"
}

// Marked returns the configuration of a new cluster, with the mark.
func Marked(config map[string]any, uid string) map[string]any {
	return Put(config, marksOf(config)+"."+Mark, uid)
}

// IsMarked tells whether a cluster was made for the HostedCluster with this UID.
func IsMarked(config map[string]any, uid string) bool {
	return uid != "" && Text(config, marksOf(config)+"."+Mark) == uid
}

// Unmarked returns the configuration without the mark, which is no field of any spec.
func Unmarked(config map[string]any) map[string]any {
	tags, _ := config[marksOf(config)].(map[string]any)
	if tags[Mark] == nil {
		return config
	}
	tags = maps.Clone(tags)
	delete(tags, Mark)
	return Put(config, marksOf(config), tags)
}
