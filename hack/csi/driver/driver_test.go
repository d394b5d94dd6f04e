package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/mount-utils"
)

const mebibyte = 1 << 20

// TestMain runs the tests again in a mount namespace of their own, with which the kernel ends their mounts.
func TestMain(m *testing.M) {
	const inside = "SPILLWAY_CSI_INSIDE"
	if os.Getenv(inside) != "" || os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	command := exec.Command(os.Args[0], os.Args[1:]...)
	command.Env = append(os.Environ(), inside+"=1")
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := command.Run(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

func newDriver(t *testing.T) *driver {
	if os.Geteuid() != 0 {
		t.Skip("mounts need root")
	}
	directory := t.TempDir()
	return &driver{node: "here", socket: filepath.Join(directory, "registry", "csi.sock"), volumes: &volumes{
		directory: filepath.Join(directory, "volumes"), largest: 64 * mebibyte, mounter: mount.NewWithoutSystemd(""),
	}}
}

// TestSanity runs the suite of Kubernetes for CSI drivers.
func TestSanity(t *testing.T) {
	d := newDriver(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.serve(ctx) }()
	config := sanity.NewTestConfig()
	config.Address = d.socket
	config.TargetPath, config.StagingPath = filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "staging")
	config.TestVolumeSize, config.TestVolumeExpandSize = 8*mebibyte, 16*mebibyte
	sanity.Test(t, config)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestVolume(t *testing.T) {
	d := newDriver(t)
	target := filepath.Join(t.TempDir(), "pod", "mount")
	file := filepath.Join(target, "file")
	must(d.CreateVolume(t.Context(), &csi.CreateVolumeRequest{Name: "data", VolumeCapabilities: mounted(writer), CapacityRange: bytesOf(2 * mebibyte)}))(t)
	must(d.publish(t, target, false))(t)

	if err := os.WriteFile(file, make([]byte, 3*mebibyte), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("3 MiB do not fit into a volume of 2 MiB, but: %v", err)
	}
	must(d.ControllerExpandVolume(t.Context(), &csi.ControllerExpandVolumeRequest{VolumeId: "data", CapacityRange: bytesOf(4 * mebibyte)}))(t)
	must(d.NodeExpandVolume(t.Context(), &csi.NodeExpandVolumeRequest{VolumeId: "data", VolumePath: target, CapacityRange: bytesOf(4 * mebibyte)}))(t)
	content := bytes.Repeat([]byte("x"), 3*mebibyte)
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Error("3 MiB fit into 4 MiB: ", err)
	}

	t.Run("is not deleted while a pod has it", func(t *testing.T) {
		_, err := d.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: "data"})
		want(t, err, codes.FailedPrecondition)
	})
	must(d.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "data", TargetPath: target}))(t)

	t.Run("has its content after the pod and the driver are gone", func(t *testing.T) {
		d.volumes = &volumes{directory: d.volumes.directory, largest: d.volumes.largest, mounter: d.volumes.mounter}
		must(d.publish(t, target, true))(t)
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, content) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}
		if err := os.WriteFile(file, nil, 0o600); !errors.Is(err, syscall.EROFS) {
			t.Errorf("wrote to a volume that is read-only: %v", err)
		}
		must(d.NodeUnpublishVolume(t.Context(), &csi.NodeUnpublishVolumeRequest{VolumeId: "data", TargetPath: target}))(t)
	})

	must(d.DeleteVolume(t.Context(), &csi.DeleteVolumeRequest{VolumeId: "data"}))(t)
	_, err := d.publish(t, target, false)
	want(t, err, codes.NotFound)
}

func TestRefused(t *testing.T) {
	d := newDriver(t)
	for name, test := range map[string]struct {
		request *csi.CreateVolumeRequest
		want    codes.Code
	}{
		"too large":        {&csi.CreateVolumeRequest{Name: "a", VolumeCapabilities: mounted(writer), CapacityRange: bytesOf(65 * mebibyte)}, codes.OutOfRange},
		"many nodes":       {&csi.CreateVolumeRequest{Name: "a", VolumeCapabilities: mounted(csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER)}, codes.InvalidArgument},
		"a block device":   {&csi.CreateVolumeRequest{Name: "a", VolumeCapabilities: []*csi.VolumeCapability{{AccessType: &csi.VolumeCapability_Block{}}}}, codes.InvalidArgument},
		"a clone":          {&csi.CreateVolumeRequest{Name: "a", VolumeCapabilities: mounted(writer), VolumeContentSource: &csi.VolumeContentSource{}}, codes.InvalidArgument},
		"another's folder": {&csi.CreateVolumeRequest{Name: "../a", VolumeCapabilities: mounted(writer)}, codes.InvalidArgument},
		"the folder":       {&csi.CreateVolumeRequest{Name: "..", VolumeCapabilities: mounted(writer)}, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.CreateVolume(t.Context(), test.request)
			want(t, err, test.want)
		})
	}
	if left, err := os.ReadDir(d.volumes.directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// The kubelet reads these, and would ignore a driver with others.
func TestRegistration(t *testing.T) {
	info := must((&driver{socket: "/registry/csi.sock"}).GetInfo(t.Context(), nil))(t)
	if info.Type != registration.CSIPlugin || info.Name != driverName || info.Endpoint != "/registry/csi.sock" {
		t.Errorf("got %v", info)
	}
}

const writer = csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER

func mounted(mode csi.VolumeCapability_AccessMode_Mode) []*csi.VolumeCapability {
	return []*csi.VolumeCapability{{
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{}},
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: mode},
	}}
}

func bytesOf(size int64) *csi.CapacityRange { return &csi.CapacityRange{RequiredBytes: size} }

func (d *driver) publish(t *testing.T, target string, readOnly bool) (*csi.NodePublishVolumeResponse, error) {
	return d.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{
		VolumeId: "data", TargetPath: target, VolumeCapability: mounted(writer)[0], Readonly: readOnly,
	})
}

// must returns a function that returns the answer, or ends the test.
func must[T any](answer T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
}

func want(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("got %v, want %s", err, code)
	}
}
