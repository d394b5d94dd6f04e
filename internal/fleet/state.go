package fleet

import "github.com/spillway-io/spillway/internal/connection"

// State of a connection.
type State = connection.State

// The phases of a connection.
const (
	NotConnected = connection.NotConnected
	Connecting   = connection.Connecting
	Connected    = connection.Connected
	Disconnected = connection.Disconnected
	Left         = connection.Left
)
