//go:build !linux

package node

import "syscall"

// Main does nothing here: see Supported.
func Main() {}

func namespaces() *syscall.SysProcAttr { return nil }
