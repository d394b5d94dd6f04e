package node

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
)

// openDoor lets the node reach a server that listens on 127.0.0.1 of the machine. It forwards connections to
// the listener's port at the machine's address.
func openDoor(address netip.Addr, server string) (net.Listener, error) {
	target, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		return nil, fmt.Errorf("opening a way from the node to %s: %w", server, err)
	}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // The listener is closed.
			}
			go passOn(connection, target.Host)
		}
	}()
	return listener, nil
}

// addressOf returns where a door listens.
func addressOf(door net.Listener) netip.AddrPort {
	address := door.Addr().(*net.TCPAddr).AddrPort() //nolint:forcetypeassert // openDoor listens on TCP.
	return netip.AddrPortFrom(address.Addr().Unmap(), address.Port())
}

func passOn(from net.Conn, target string) {
	defer from.Close()
	to, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer to.Close()
	go func() {
		defer to.Close() // It ends the other direction.
		_, _ = io.Copy(to, from)
	}()
	_, _ = io.Copy(from, to)
}
