package merge

// State is the state of a leaf that the spec sets.
type State string

// The states.
const (
	// Agreed: both sides have the same value.
	Agreed State = "Agreed"
	// Pushed: the spec is sent to the cloud.
	Pushed State = "Pushed"
	// Superseded: the cloud's value holds, and the spec still has another.
	Superseded State = "Superseded"
	// WrittenBack: the cloud's value holds, and is written to the spec.
	WrittenBack State = "WrittenBack"
	// Drifted: the cloud has changed, and nothing is done about it.
	Drifted State = "Drifted"
	// Conflict: both sides have changed. Nothing is done until somebody resolves it.
	Conflict State = "Conflict"
	// Floating: the value changes by itself, and is not compared.
	Floating State = "Floating"
	// ImmutableDiffers: the sides differ, and no call can change the cloud.
	ImmutableDiffers State = "ImmutableDiffers"
)

// Side is a side whose value may hold.
type Side string

// The sides. Neither means: report it, and do nothing.
const (
	Neither  Side = ""
	Spec     Side = "Spec"
	Upstream Side = "Upstream"
)

// Policy says which side wins for a leaf.
type Policy struct {
	// External applies if only the cloud has changed. With Neither, the leaf is Drifted.
	External Side
	// Conflict applies if both sides have changed. With Neither, nothing is done about the leaf.
	Conflict Side
	// WriteBack writes the cloud's value to the spec if it wins.
	WriteBack bool
}

// view is what is known about a leaf.
type view struct {
	immutable, floats bool
	// same: the cloud has what the spec asks for.
	same bool
	// spec and upstream say which side has changed since both last agreed.
	spec, upstream bool
	// resolved is the winner according to a resolution of exactly this conflict.
	resolved Side
}

// verdict is what to do about a leaf.
type verdict struct {
	state State
	// overwrites: the value of one side is lost, and its author did not know.
	overwrites bool
}

// decide implements the table of the package comment.
func decide(v view, p Policy) verdict {
	switch {
	case v.same:
		return verdict{state: Agreed}
	case v.floats:
		return verdict{state: Floating}
	case v.immutable:
		return verdict{state: ImmutableDiffers}
	case v.spec && v.upstream:
		winner := v.resolved
		if winner == Neither {
			winner = p.Conflict
		}
		return against(winner, Conflict, p)
	case v.spec:
		return verdict{state: Pushed}
	case v.upstream:
		return against(p.External, Drifted, p)
	case p.WriteBack && p.External == Upstream:
		return verdict{WrittenBack, true}
	default:
		// Both sides have agreed to differ.
		return verdict{state: Superseded}
	}
}

// against overwrites the side that has lost.
func against(winner Side, otherwise State, p Policy) verdict {
	switch {
	case winner == Spec:
		return verdict{Pushed, true}
	case winner == Upstream && p.WriteBack:
		return verdict{WrittenBack, true}
	case winner == Upstream:
		return verdict{Superseded, true}
	default:
		return verdict{state: otherwise}
	}
}
