// Package crd embeds the CustomResourceDefinitions of this version. Programs compare them with those
// that a cluster serves. Package config builds all manifests, but needs kustomize for that.
package crd

import "embed"

// Files are the definitions, in the directory bases.
//
//go:embed bases/*.yaml
var Files embed.FS
