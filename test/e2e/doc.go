// Package e2e tests Spillway as its users have it: the program bin/manager, under
// the identity and the roles of config/default in the consumer and of
// config/provider in the providers, with the scheduler, the controllers and the
// kubectl of Kubernetes. The package has tests only, behind the build tag e2e:
//
//	make e2e
//
// Three clusters are brought up once (package testcluster) and shared: the
// consumer, the provider eu, whose nodes run nothing but are quick, and the
// provider dc, whose node runs containers. Without root on Linux there is no
// dc, and what needs it is skipped, with the reason. Each container of specs
// (Describe) has namespaces of its own, and its specs follow upon each other.
//
// Every wait is bounded and says what it is for. When a spec fails, what a user
// would look at is in the report: the objects of both sides, events, and the end
// of the manager's log; all logs are in bin/e2e/logs.
package e2e
