package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/check"
)

// checkPatience limits all requests of a check.
const checkPatience = 30 * time.Second

// runArguments does what the arguments after the flags ask for, and returns the exit code.
func runArguments(namespace string, arguments []string) int {
	if arguments[0] != "check" {
		fmt.Fprintf(os.Stderr, "manager: unexpected argument %q; see manager --help\n", arguments[0])
		return 2
	}
	if err := runCheck(namespace, arguments[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		return 1
	}
	return 0
}

// runCheck carries out "manager check installation" and "manager check removal", which run beside the
// manager, and prints what they find.
func runCheck(namespace string, arguments []string) error {
	if len(arguments) != 1 || arguments[0] != "installation" && arguments[0] != "removal" {
		return fmt.Errorf("check what? installation or removal, not %q", arguments)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the cluster to check: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkPatience)
	defer cancel()
	if arguments[0] == "removal" {
		return check.Removal(ctx, reader)
	}
	found, err := check.Installation(ctx, reader, namespace, time.Now())
	if err == nil {
		fmt.Println(found)
	}
	return err
}
