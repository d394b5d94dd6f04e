// Package upgrade replaces an older manager, and its manifests, by those of this
// checkout, while pods run in providers. It is behind the build tag upgrade, and
// make upgrade runs it. No pod may be evicted, deleted, made again, restarted, or
// cease to be Ready, on either side; and what is made afterwards has to work.
package upgrade
