package clusters

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Ports are below the kernel's range for outgoing connections (32768 up), so no connection can take the port
// of a stopped API server.
const firstPort, lastPort = 10000, 32767

// portRegister maps the ports that clusters use to the directories of the clusters. An entry is valid as long
// as its directory exists.
type portRegister map[string]string

// reservePorts returns n ports that no cluster and no listener uses, and records them for the cluster in dir,
// which must exist.
func reservePorts(dir string, n int) ([]int, error) {
	file := portRegisterFile()
	const patience = time.Minute // Nobody needs it for longer than a moment.
	unlock, err := lockFile(file+".lock", patience)
	if err != nil {
		return nil, fmt.Errorf("reserving ports for %s: %w", dir, err)
	}
	defer unlock()

	register, err := readPortRegister(file)
	if err != nil {
		return nil, fmt.Errorf("reserving ports for %s: %w", dir, err)
	}
	found := make([]int, 0, n)
	span := lastPort - firstPort + 1
	start := rand.IntN(span) // other users of the machine have another register
	for i := 0; i < span && len(found) < n; i++ {
		port := firstPort + (start+i)%span
		key := strconv.Itoa(port)
		if _, taken := register[key]; !taken && canListen(port) {
			register[key] = dir
			found = append(found, port)
		}
	}
	if len(found) < n {
		return nil, fmt.Errorf("reserving ports for %s: fewer than %d ports are free from %d to %d", dir, n, firstPort, lastPort)
	}
	raw, err := json.Marshal(register)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("recording the ports of %s: %w", dir, err)
	}
	return found, nil
}

func portRegisterFile() string {
	return filepath.Join(os.TempDir(), "spillway-ports-"+strconv.Itoa(os.Getuid())+".json")
}

// readPortRegister returns the entries whose clusters exist. A file that cannot be parsed (once after a full
// disk) counts as empty: listening shows which ports are in use.
func readPortRegister(file string) (portRegister, error) {
	register := portRegister{}
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return register, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the port register: %w", err)
	}
	if json.Unmarshal(raw, &register) != nil {
		return portRegister{}, nil
	}
	for port, dir := range register {
		if _, err := os.Stat(dir); err != nil {
			delete(register, port)
		}
	}
	return register, nil
}

func canListen(port int) bool {
	for _, address := range []string{localhost(port), ":" + strconv.Itoa(port)} {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}
