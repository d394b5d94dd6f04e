// Command csi-driver is a CSI driver for one node of a test cluster. Its volumes are real: each is a tmpfs that
// is as large as the volume. So containers see the size, and cannot write more. The volumes live as long as the
// driver's mount namespace, not as long as the driver.
//
// It is both the controller and the node service, and registers itself with the kubelet, all on one socket. It
// needs root, and runs in the kubelet's mount namespace.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"k8s.io/mount-utils"
)

// driverName is the provisioner of its StorageClasses.
const driverName = "memory.spillway.test"

// topologyKey is the label that the kubelet gives to the node. Volumes are accessible only there.
const topologyKey = driverName + "/node"

// driver implements all services.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer

	// node is the name of the node, and socket the path where the driver listens.
	node, socket string
	volumes      *volumes
}

func main() {
	node := flag.String("node", "", "`name` of the node")
	socket := flag.String("socket", "", "`path` to listen at: a file in the directory plugins_registry of the kubelet")
	directory := flag.String("volumes", "", "`directory` of the volumes")
	largest := flag.Int64("largest", 64<<20, "the largest size of a volume, in `bytes`")
	flag.Parse()
	if *node == "" || *socket == "" || *directory == "" {
		log.Fatal("-node, -socket and -volumes are required")
	}
	d := &driver{node: *node, socket: *socket, volumes: &volumes{
		directory: *directory, largest: *largest, mounter: mount.NewWithoutSystemd(""),
	}}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := d.serve(ctx)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

// serve listens until ctx ends.
func (d *driver) serve(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(d.socket), 0o750); err != nil {
		return err
	}
	// A driver that was killed leaves it.
	if err := os.Remove(d.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	listener, err := net.Listen("unix", d.socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(logged))
	csi.RegisterIdentityServer(server, d)
	csi.RegisterControllerServer(server, d)
	csi.RegisterNodeServer(server, d)
	registration.RegisterRegistrationServer(server, d)
	context.AfterFunc(ctx, server.Stop)
	return server.Serve(listener)
}

// logged logs each call.
func logged(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	answer, err := handle(ctx, request)
	if err != nil {
		log.Printf("%s %v: %v", info.FullMethod, request, err)
	} else {
		log.Printf("%s %v", info.FullMethod, request)
	}
	return answer, err
}
