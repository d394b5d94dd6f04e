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
	"strconv"
	"strings"
)

// subnets is the range for the node and its pods, which get 256 addresses of it. The range is reserved for
// benchmarks within one network (RFC 2544), so no network of the machine uses it.
var subnets = netip.MustParsePrefix("198.18.0.0/16")

// bridge is the node's interface. Pods are connected to it.
const bridge = "pods"

// makeLink creates the pair of interfaces between the machine and the node. One end stays and gets the first
// address of the subnet; joinNode moves the other.
func makeLink(ctx context.Context, id identity) (netip.Prefix, error) {
	subnet, err := freeSubnet()
	if err != nil {
		return netip.Prefix{}, err
	}
	err = ip(ctx, [][]string{
		{"link", "add", id.link(), "type", "veth", "peer", "name", id.peer()},
		{"address", "add", within(subnet, machineAddress(subnet)), "dev", id.link()},
		{"link", "set", id.link(), "up"},
	}...)
	return subnet, err
}

// joinNode moves the other interface into the network namespace of a process.
func (id identity) joinNode(ctx context.Context, pid int) error {
	return ip(ctx, []string{"link", "set", id.peer(), "netns", strconv.Itoa(pid)})
}

// nodeLinks returns the arguments of ip with which the node creates its bridge. The bridge has a fixed
// hardware address. Otherwise it would use the lowest one of its ports, and change it when a pod is added.
func (id identity) nodeLinks(subnet netip.Prefix) [][]string {
	return [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", bridge, "address", "02:00:00:00:00:01", "type", "bridge"},
		{"address", "add", within(subnet, nodeAddress(subnet)), "dev", bridge},
		{"link", "set", bridge, "up"},
		{"link", "set", id.peer(), "master", bridge, "up"},
	}
}

// The first addresses of a subnet; all others are the pods'.
func machineAddress(subnet netip.Prefix) netip.Addr { return subnet.Addr().Next() }
func nodeAddress(subnet netip.Prefix) netip.Addr    { return machineAddress(subnet).Next() }

func within(subnet netip.Prefix, address netip.Addr) string {
	return netip.PrefixFrom(address, subnet.Bits()).String()
}

// freeSubnet returns a subnet that overlaps with no network of the machine.
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

// removeLink removes both interfaces. The kernel also removes them, a moment after the node's network
// namespace, so they may vanish meanwhile.
func (id identity) removeLink(ctx context.Context) error {
	device := filepath.Join("/sys/class/net", id.link())
	if _, err := os.Stat(device); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	failure := ip(ctx, []string{"link", "delete", id.link()})
	if _, err := os.Stat(device); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return failure
}

// ip runs the program ip once for each command.
func ip(ctx context.Context, commands ...[]string) error {
	for _, args := range commands {
		out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}
