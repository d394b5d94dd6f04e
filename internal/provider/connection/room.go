package connection

import "slices"

// Room is what the CSI drivers of a provider report of the room for volumes. A nil one is not known yet.
type Room struct {
	// Drivers are the drivers whose reports the provider's scheduler uses, sorted.
	Drivers []string
	// Classes has what they report for each StorageClass, by its name.
	Classes map[string]Space
}

// Space is the room for volumes of a StorageClass, in bytes.
type Space struct {
	// Total is the room in all parts of the provider together, and Largest the largest volume that any part has room
	// for.
	Total, Largest int64
}

// Of returns the room for volumes of a class that a driver creates. known is false if the driver does not report any:
// then the provider's scheduler assumes that there is enough.
func (r *Room) Of(driver, class string) (space Space, known bool) {
	if r == nil || !slices.Contains(r.Drivers, driver) {
		return Space{}, false
	}
	return r.Classes[class], true
}
