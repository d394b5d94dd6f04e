package hosted

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/hosted/manifest"
)

// source is where the spec is from: a part of a file, or the HostedCluster in the cluster.
type source struct {
	h          *v1alpha1.HostedCluster
	content    []byte
	begin, end int
}

func (o *adoptOptions) source(live *v1alpha1.HostedCluster) (source, error) {
	if o.file == "" {
		return source{h: live}, nil
	}
	content, err := os.ReadFile(o.file)
	if err != nil {
		return source{}, err
	}
	h, begin, end, err := document(content, live.Name)
	if err != nil {
		return source{}, fmt.Errorf("%s: %w", o.file, err)
	}
	return source{h, content, begin, end}, nil
}

// rewrite changes the file. What is proven is what the file says, not what was meant.
func (o *adoptOptions) rewrite(f *cli.Factory, live *v1alpha1.HostedCluster, from source, adopted preview.Adopted) error {
	text, err := edited(from.content[from.begin:from.end], from.h.Spec.ClusterConfig, adopted.Values)
	if err != nil {
		return fmt.Errorf("%s: %w", o.file, err)
	}
	proven, _, _, err := document(text, live.Name)
	if err == nil {
		err = o.prove(live, proven.Spec)
	}
	if err != nil || o.dryRun {
		return err
	}
	if err := write(o.file, slices.Concat(from.content[:from.begin], text, from.content[from.end:])); err != nil {
		return err
	}
	values := "the cloud's value"
	if n := len(adopted.Changes); n > 1 {
		values = fmt.Sprintf("%d values of the cloud", n)
	}
	_, err = fmt.Fprintf(f.ErrOut, "%s has %s. With it, nothing is sent to the cloud, and no field is in conflict\n", o.file, values)
	return err
}

// edited returns a document with other values of some fields, and otherwise as it is.
func edited(text []byte, config v1alpha1.ClusterConfig, values map[string]any) ([]byte, error) {
	typed, err := merge.Tree(config)
	if err != nil {
		return nil, err
	}
	var all struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	for cloud := range typed {
		// Not what the type says of it: the file may say null.
		written, _ := all.Spec[cloud].(map[string]any)
		fields, err := merge.Edited(tables.Of(config), written, values)
		if err != nil {
			return nil, err
		}
		if text, err = manifest.Set(text, []string{"spec", cloud}, fields); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// write replaces a file, which is never half written.
func write(path string, content []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".spillway-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // It is not there after a rename.
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(info.Mode().Perm()), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
