package ralph

// Waiting is how many hooks wait for the next prompt.
func (r *Relay) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.turn == nil {
		return 0
	}
	return len(r.turn.hooks)
}
