package hosted

import (
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// between matches the line between two documents.
var between = regexp.MustCompile(`(?m)^---(?:[ \t].*)?\r?\n?`)

// document finds the HostedCluster of that name in a file of YAML documents. It also returns where its document
// begins and ends.
func document(content []byte, name string) (h *v1alpha1.HostedCluster, begin, end int, err error) {
	var others []string
	ends := append(between.FindAllIndex(content, -1), []int{len(content), len(content)})
	for i, next := range ends {
		if i > 0 {
			begin = ends[i-1][1]
		}
		text := content[begin:next[0]]
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal(text, &head); err != nil {
			return nil, 0, 0, fmt.Errorf("document %d: %w", i+1, err)
		}
		switch {
		case head.Kind != "HostedCluster" || !strings.HasPrefix(head.APIVersion, v1alpha1.GroupVersion.Group+"/"):
		case head.Metadata.Name != name:
			others = append(others, head.Metadata.Name)
		default:
			h := &v1alpha1.HostedCluster{}
			if err := yaml.UnmarshalStrict(text, h); err != nil {
				return nil, 0, 0, fmt.Errorf("HostedCluster %s: %w", name, err)
			}
			return h, begin, next[0], nil
		}
	}
	if len(others) > 0 {
		return nil, 0, 0, fmt.Errorf("it has no HostedCluster %s, but %s", name, strings.Join(others, ", "))
	}
	return nil, 0, 0, fmt.Errorf("it has no HostedCluster %s", name)
}
