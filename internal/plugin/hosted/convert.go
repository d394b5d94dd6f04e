package hosted

import (
	"fmt"

	"github.com/spillway-io/spillway/internal/plugin/cli"
	"github.com/spillway-io/spillway/internal/plugin/hosted/rancher"
)

// convert prints the HostedCluster for a cluster of Rancher, and what Rancher's object has that a HostedCluster
// has not.
func (o *adoptOptions) convert(f *cli.Factory, name string) error {
	if len(o.Fields) > 0 || o.Drifted || o.All || o.file != "" {
		return fmt.Errorf("--from-rancher converts a file, and goes with no other choice. Apply the result, and then run adopt with it")
	}
	content, err := readFile(f, o.rancher)
	if err != nil {
		return err
	}
	converted, err := rancher.Convert(content, name, o.secret)
	if err != nil {
		return fmt.Errorf("%s: %w", o.rancher, err)
	}
	for _, left := range converted.Left {
		if _, err := fmt.Fprintln(f.ErrOut, "no counterpart: "+left); err != nil {
			return err
		}
	}
	for _, note := range converted.Notes {
		if _, err := fmt.Fprintln(f.ErrOut, "note: "+note); err != nil {
			return err
		}
	}
	_, err = f.Out.Write(converted.YAML)
	return err
}
