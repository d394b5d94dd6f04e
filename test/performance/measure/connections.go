package measure

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Connections returns the manager's open TCP connections, as the function Connections does.
func (m *Manager) Connections() (map[int]int, error) { return Connections(m.PID()) }

// Connections returns the number of open TCP connections of a process, by remote port. An API server's
// connections have its port.
func Connections(pid int) (map[int]int, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return nil, fmt.Errorf("reading /proc: %w", err)
	}
	targets, err := process.FileDescriptorTargets()
	if err != nil {
		return nil, fmt.Errorf("reading the open files of process %d: %w", pid, err)
	}
	own := sets.New(targets...)
	count := map[int]int{}
	for _, table := range []string{"tcp", "tcp6"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if errors.Is(err, os.ErrNotExist) {
			continue // There is no IPv6.
		}
		if err != nil {
			return nil, fmt.Errorf("reading the connections: %w", err)
		}
		if err := countEstablished(count, raw, own); err != nil {
			return nil, fmt.Errorf("/proc/%d/net/%s: %w", pid, table, err)
		}
	}
	return count, nil
}

// The columns of /proc/net/tcp, see proc_net_tcp in the kernel's documentation.
const (
	columnRemote = 2
	columnState  = 3
	columnInode  = 9
	established  = "01"
)

// countEstablished counts the established connections of a table like /proc/net/tcp, by remote port. The
// table has the connections of all processes. own are the targets of file descriptors: only their sockets
// count.
func countEstablished(count map[int]int, table []byte, own sets.Set[string]) error {
	lines := bufio.NewScanner(bytes.NewReader(table))
	lines.Scan() // The heading.
	for lines.Scan() {
		columns := strings.Fields(lines.Text())
		if len(columns) <= columnInode {
			return fmt.Errorf("%q is no connection", lines.Text())
		}
		if columns[columnState] != established || !own.Has("socket:["+columns[columnInode]+"]") {
			continue
		}
		_, hex, _ := strings.Cut(columns[columnRemote], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			return fmt.Errorf("%q is no address", columns[columnRemote])
		}
		count[int(port)]++
	}
	return lines.Err()
}
