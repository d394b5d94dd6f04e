// Command coredns is CoreDNS with the plugins that it takes to answer for the Services
// of a cluster. It is not in the one file with Kubernetes' programs, because it gives
// flags of its own to all that is in a program, and kube-proxy would take these over.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
