package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// subnets of 256 addresses for pods are taken from here: the range is reserved
// for measurements within one machine or laboratory (RFC 2544), so that no
// network to which the machine is connected has it.
var subnets = netip.MustParsePrefix("198.18.0.0/16")

// makeBridge makes the bridge that the pods are connected to. Its address is the
// first one of the subnet, and is the node's: nobody but this machine can reach
// it, and so the kubelet.
func makeBridge(ctx context.Context, id identity) (netip.Prefix, error) {
	subnet, err := freeSubnet()
	if err != nil {
		return netip.Prefix{}, err
	}
	address := netip.PrefixFrom(nodeAddress(subnet), subnet.Bits())
	for _, args := range [][]string{
		{"link", "add", id.bridge(), "type", "bridge"},
		{"address", "add", address.String(), "dev", id.bridge()},
		{"link", "set", id.bridge(), "up"},
	} {
		if err := ip(ctx, args...); err != nil {
			return netip.Prefix{}, fmt.Errorf("making the bridge of the pods: %w", err)
		}
	}
	return subnet, nil
}

// nodeAddress is the node's among those of the subnet.
func nodeAddress(subnet netip.Prefix) netip.Addr { return subnet.Addr().Next() }

// freeSubnet finds one that overlaps with no network of the machine.
func freeSubnet() (netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("listing the addresses of the machine: %w", err)
	}
	var taken []netip.Prefix
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			taken = append(taken, prefix.Masked())
		}
	}
	return firstFree(taken)
}

func firstFree(taken []netip.Prefix) (netip.Prefix, error) {
	base := subnets.Addr().As4()
	for third := range 256 {
		base[2] = byte(third)
		candidate := netip.PrefixFrom(netip.AddrFrom4(base), 24)
		free := true
		for _, prefix := range taken {
			free = free && !prefix.Overlaps(candidate)
		}
		if free {
			return candidate, nil
		}
	}
	return netip.Prefix{}, fmt.Errorf("all subnets of %s are in use", subnets)
}

// removeBridge also removes the interfaces of pods on it, which would go by
// themselves, but a moment later.
func (id identity) removeBridge(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join("/sys/class/net", id.bridge())); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	ports, _ := filepath.Glob(filepath.Join("/sys/class/net", id.bridge(), "brif", "*")) // the pattern is well-formed
	for _, port := range ports {
		// It may have gone just now.
		_ = ip(ctx, "link", "delete", filepath.Base(port))
	}
	return ip(ctx, "link", "delete", id.bridge())
}

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
