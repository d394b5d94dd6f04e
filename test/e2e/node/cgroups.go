package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// containerdNamespace is the containerd namespace of Kubernetes' containers. containerd also gives this name
// to the parent of the containers' cgroups, unless the kubelet names another. The kubelet does not, because
// it runs without the cgroups of QoS classes.
const containerdNamespace = "k8s.io"

// removeCgroups removes the cgroups of containers that ended with the node, not by the kubelet. It does so in
// each hierarchy of version 1, or the only one of version 2. The kernel frees a cgroup a moment after its
// last process.
func (id identity) removeCgroups(ctx context.Context) error {
	const patience = 10 * time.Second
	containers, _ := filepath.Glob(paths(id.directory()).in( // the pattern is well-formed
		"containerd", "state", "io.containerd.runtime.v2.task", containerdNamespace, "*"))
	return await(ctx, patience, func(context.Context) error {
		var errs []error
		for _, parent := range cgroupParents() {
			for _, container := range containers {
				errs = append(errs, removeCgroup(filepath.Join(parent, filepath.Base(container))))
			}
			// The parent stays as long as another containerd has containers in it.
			_ = syscall.Rmdir(parent)
		}
		return errors.Join(errs...)
	})
}

func cgroupParents() []string {
	version2, _ := filepath.Glob("/sys/fs/cgroup/" + containerdNamespace) // both patterns are well-formed
	version1, _ := filepath.Glob("/sys/fs/cgroup/*/" + containerdNamespace)
	return append(version2, version1...)
}

func removeCgroup(directory string) error {
	err := syscall.Rmdir(directory)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing cgroup %s: %w", directory, err)
	}
	return nil
}
