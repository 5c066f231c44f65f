package memory

// Settings returns the settings that are in force.
func (a *Allocator) Settings() Settings { return a.policy.Load().Settings }

// SetSettings changes the settings from the next request on; blocks and
// segments stay as they are. The error is a [*SettingsError], or that of the
// upstream, and nothing has changed then.
func (a *Allocator) SetSettings(s Settings) error {
	cfg := a.cfg
	cfg.Settings = s
	p, err := newPolicy(&cfg, a.props, a.total)
	if err == nil {
		a.policy.Store(p)
	}
	return err
}
