package performance

import "fmt"

func exactly(got, want int) error {
	if got != want {
		return fmt.Errorf("%d, want exactly %d", got, want)
	}
	return nil
}

func below(got int, bound float64) error {
	if float64(got) >= bound {
		return fmt.Errorf("%d, want fewer than %.0f", got, bound)
	}
	return nil
}

func atMost(got, most int) error {
	if got > most {
		return fmt.Errorf("%d, want at most %d", got, most)
	}
	return nil
}
