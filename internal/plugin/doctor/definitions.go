package doctor

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/definitions"
)

// ofDefinitions compares the CustomResourceDefinitions of the cluster with the ones of this kubectl spillway.
// The manager compares them with its own: condition VersionSkew.
func ofDefinitions(there, shipped map[string]definitions.Schema) Finding {
	f := Finding{Level: OK, Check: "definitions", Message: "the CustomResourceDefinitions are those of this version of kubectl spillway"}
	skew := definitions.Compare(there, shipped)
	var differ []string
	if skew.Missing != "" {
		f.Level = Error
		f.Mend = "kubectl spillway install, or helm upgrade, applies those of its version"
		differ = append(differ, "they lack "+skew.Missing+": a manager of this version cannot store these")
	}
	if skew.Further != "" {
		if f.Level == OK {
			f.Level, f.Mend = Warning, "install the kubectl spillway of the CustomResourceDefinitions' version; if the condition "+v1alpha1.BindingVersionSkew+" of a binding says the same, also the manager of that version"
		}
		differ = append(differ, "they have fields or values that this version does not know: "+skew.Further)
	}
	if len(differ) > 0 {
		f.Message = "the CustomResourceDefinitions are not those of this version of kubectl spillway: " + strings.Join(differ, "; ")
	}
	return f
}

// schemas returns the schemas of the CustomResourceDefinitions among the objects, by kind.
func schemas(objects []*unstructured.Unstructured) map[string]definitions.Schema {
	all := map[string]definitions.Schema{}
	for _, object := range objects {
		if object.GetKind() == "CustomResourceDefinition" {
			kind, schema := definitions.OfDefinition(object.Object)
			all[kind] = schema
		}
	}
	return all
}
