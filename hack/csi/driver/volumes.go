package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/mount-utils"
)

// smallest is the size, in bytes, of a volume without a requested size.
const smallest = 1 << 20

// volumes are the mounts of tmpfs in a directory. The name of a mount is the ID of its volume. Nothing else is
// remembered, so a driver that starts again knows all of them.
type volumes struct {
	directory string
	// largest is the largest size of a volume, in bytes.
	largest int64
	mounter mount.Interface

	// mu is held by each change.
	mu sync.Mutex
}

func (v *volumes) path(id string) string { return filepath.Join(v.directory, id) }

// size returns the size of a volume in bytes, or the status NotFound.
func (v *volumes) size(id string) (int64, error) {
	notFound := status.Errorf(codes.NotFound, "there is no volume %s", id)
	if !filepath.IsLocal(id) || filepath.Base(id) != id || id == "." {
		return 0, notFound
	}
	mounted, err := v.mounter.IsMountPoint(v.path(id))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	if !mounted {
		return 0, notFound
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(v.path(id), &stat); err != nil {
		return 0, err
	}
	return int64(stat.Blocks) * stat.Bsize, nil
}

// sizeFor returns the size of a volume for which that range is requested: whole pages, because a tmpfs has no
// others.
func (v *volumes) sizeFor(requested *csi.CapacityRange) (int64, error) {
	page := int64(os.Getpagesize())
	size := (max(requested.GetRequiredBytes(), smallest) + page - 1) / page * page
	limit := v.largest
	if of := requested.GetLimitBytes(); of > 0 {
		limit = min(limit, of)
	}
	if size > limit {
		return 0, status.Errorf(codes.OutOfRange, "a volume of %d bytes is requested, but %d is the limit", size, limit)
	}
	return size, nil
}

// create makes a volume, unless it exists, and returns its size in bytes.
func (v *volumes) create(id string, requested *csi.CapacityRange) (int64, error) {
	if id == "" {
		return 0, missing("name")
	}
	if filepath.Base(id) != id || id == "." || id == ".." {
		return 0, status.Errorf(codes.InvalidArgument, "name %q cannot be the name of a directory", id)
	}
	size, err := v.sizeFor(requested)
	if err != nil {
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	existing, err := v.size(id)
	if err == nil {
		if limit := requested.GetLimitBytes(); existing < size || limit > 0 && existing > limit {
			return 0, status.Errorf(codes.AlreadyExists, "volume %s exists, with %d bytes", id, existing)
		}
		return existing, nil
	}
	if status.Code(err) != codes.NotFound {
		return 0, err
	}
	if err := os.MkdirAll(v.path(id), 0o750); err != nil {
		return 0, err
	}
	// Containers of any user may write, as on the file systems of other drivers that know no fsGroup.
	return size, v.mounter.Mount("tmpfs", v.path(id), "tmpfs", []string{"mode=0777", sized(size)})
}

// remove deletes a volume if it exists and no pod has it.
func (v *volumes) remove(id string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := v.size(id); err != nil {
		if status.Code(err) == codes.NotFound {
			return nil
		}
		return err
	}
	targets, err := v.mounter.GetMountRefs(v.path(id))
	if err != nil {
		return err
	}
	if len(targets) > 0 {
		return status.Errorf(codes.FailedPrecondition, "volume %s is in use: it is mounted at %s", id, targets[0])
	}
	return mount.CleanupMountPoint(v.path(id), v.mounter, true)
}

// grow makes a volume as large as requested, if it is smaller, and returns its size in bytes.
func (v *volumes) grow(id string, requested *csi.CapacityRange) (int64, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	current, err := v.size(id)
	if err != nil {
		return 0, err
	}
	size, err := v.sizeFor(requested)
	if err != nil {
		return 0, err
	}
	if size <= current {
		return current, nil
	}
	return size, v.mounter.Mount("", v.path(id), "", []string{"remount", sized(size)})
}

// publish mounts a volume at a target, which it makes.
func (v *volumes) publish(id, target string, readOnly bool) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, err := v.size(id); err != nil {
		return err
	}
	if err := os.MkdirAll(target, 0o750); err != nil {
		return err
	}
	mounted, err := v.mounter.IsMountPoint(target)
	if err != nil || mounted {
		return err
	}
	options := []string{"bind"}
	if readOnly {
		options = append(options, "ro")
	}
	return v.mounter.Mount(v.path(id), target, "", options)
}

// unpublish removes a target, if there is one.
func (v *volumes) unpublish(target string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return mount.CleanupMountPoint(target, v.mounter, true)
}

func sized(bytes int64) string { return fmt.Sprintf("size=%d", bytes) }
