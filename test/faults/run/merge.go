package run

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
)

// ErrIncomplete is the error of merging before all shards are done.
var ErrIncomplete = errors.New("not all shards are done")

// Merge adds up the journals of all shards in dir. All must have the same code and settings, and the same
// number of shards.
func Merge(dir, code, settings string) (*Report, error) {
	paths, err := filepath.Glob(filepath.Join(dir, pieceName(settings, nil)))
	if err != nil {
		return nil, err
	}
	var pieces []*Journal
	var errs []error
	for _, path := range paths {
		piece := &Journal{path: path}
		if _, err := piece.read(); err != nil {
			errs = append(errs, err)
			continue
		}
		if piece.Header.Code != code || piece.Header.Settings != settings {
			errs = append(errs, fmt.Errorf("%s cannot be merged: %w; remove it, or check that code out", path, ErrOtherCode))
		}
		pieces = append(pieces, piece)
	}
	if err := errors.Join(append(errs, complete(pieces))...); err != nil {
		return nil, err
	}
	return merged(pieces), nil
}

// complete returns an error that lists the shards that are missing or not done.
func complete(pieces []*Journal) error {
	if len(pieces) == 0 {
		return fmt.Errorf("%w: there is none", ErrIncomplete)
	}
	n, missing := max(1, pieces[0].Header.Shard.N), map[string]bool{}
	for k := range n {
		missing[Shard{k + 1, n}.String()] = true
	}
	for _, piece := range pieces {
		if of := max(1, piece.Header.Shard.N); of != n {
			return fmt.Errorf("%s and %s are of different divisions, by %d and %d: remove those that are not meant", pieces[0].path, piece.path, n, of)
		}
		if piece.Ended() {
			delete(missing, piece.Header.Shard.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s", ErrIncomplete, strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return nil
}

// merged adds up the records. References come first, because runs hit their points.
func merged(pieces []*Journal) *Report {
	report := newReport()
	for _, references := range []bool{true, false} {
		for _, piece := range pieces {
			for _, r := range piece.records {
				if references == (r.Reference != nil) {
					report.apply(r)
				}
			}
		}
	}
	if len(pieces) > 1 {
		report.Unplayed = unplayed(pieces)
	}
	return report
}

// unplayed returns the commands of recipes that no shard has played: only the reference runs of other
// shards led to them.
func unplayed(pieces []*Journal) []string {
	done, asked, next := map[string]bool{}, map[string]bool{}, map[string]string{}
	for _, piece := range pieces {
		for _, r := range piece.records {
			if r.Run == nil {
				continue
			}
			done[r.Run.key()] = true
			asked[string(r.Run.Part)] = true
			for _, text := range r.Run.Next {
				next[keyOf(r.Run.Part, r.Run.Scenario, text)] = commandOf(r.Run.Scenario, text)
			}
		}
	}
	for _, s := range scenario.All() {
		together := union(pieces, s.Name)
		for _, part := range []Part{Crash, Errors, Cuts, Watches, Pairs} {
			if !asked[string(part)] || part == Pairs && !s.Core {
				continue
			}
			for _, r := range recipesOf(part, together) {
				next[keyOf(part, s.Name, r.String())] = commandOf(s.Name, r.String())
			}
		}
	}
	maps.DeleteFunc(next, func(key, _ string) bool { return done[key] })
	return slices.Sorted(maps.Values(next))
}

// union returns every point and every event of the reference runs of a scenario.
func union(pieces []*Journal, scenario string) *Outcome {
	points, all := map[recipe.Point]bool{}, &Outcome{Events: map[inject.Stream]int{}}
	for _, piece := range pieces {
		for _, r := range piece.records {
			if r.Reference == nil || r.Reference.Part != Reference || r.Reference.Scenario != scenario {
				continue
			}
			for _, point := range r.Reference.Points {
				if !points[point] {
					points[point] = true
					all.Points = append(all.Points, point)
				}
			}
			for _, e := range r.Reference.Events {
				all.Events[e.Stream] = max(all.Events[e.Stream], e.N)
			}
		}
	}
	return all
}
