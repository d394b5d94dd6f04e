// Package e2e tests Spillway as its users run it: the program bin/manager, with the identity and the roles of
// config/default in the consumer and of config/provider in the providers. Kubernetes' own scheduler,
// controllers and kubectl run as well. The package has only tests, with the build tag e2e:
//
//	make e2e
//
// Three clusters start once (package testcluster), and all specs share them. They are the consumer, the
// provider eu with fast nodes that run nothing, and the provider dc with a node that runs containers. Without
// root on Linux there is no dc: specs that need it are skipped, and say why. Each container of specs
// (Describe) has its own namespaces, and its specs run in order.
//
// Every wait is bounded and says what it waits for. If a spec fails, the report shows what a user would look
// at: the objects in both clusters, events, and the end of the manager's log. All logs are in bin/e2e/logs.
package e2e
