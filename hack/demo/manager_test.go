package main

import (
	"net"
	"strings"
	"testing"
)

func TestAnAddressThatIsTaken(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := areFree(address); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("%s is taken, and the demo says: %v", address, err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	if err := areFree(address); err != nil {
		t.Errorf("%s is free, and the demo says: %v", address, err)
	}
}
