package main

import (
	"net"
	"testing"
)

func TestFreePorts(t *testing.T) {
	ports, err := freePorts(3)
	if err != nil || len(ports) != 3 {
		t.Fatalf("%v, %v", ports, err)
	}
	for _, port := range ports { // All at once: no port is found twice.
		listener, err := net.Listen("tcp", net.JoinHostPort(managerHost, port))
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
	}
}
