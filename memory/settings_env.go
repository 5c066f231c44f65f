package memory

import (
	"errors"
	"log/slog"
)

// settingsVariables are where settings are looked for, the first that is set.
var settingsVariables = [...]string{"TARN_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"}

// SettingsFromEnv reads the settings of the process, with [os.LookupEnv] or
// what stands for it: TARN_ALLOC_CONF; where that is unset PYTORCH_ALLOC_CONF,
// then PYTORCH_CUDA_ALLOC_CONF. A variable that is set and empty counts, and
// means the defaults. Errors are those of ParseSettings and name the variable;
// warnings go to [slog.Default].
func SettingsFromEnv(lookup func(string) (string, bool)) (Settings, error) {
	for _, name := range settingsVariables {
		text, ok := lookup(name)
		if !ok {
			continue
		}
		s, warnings, err := ParseSettings(text)
		var bad *SettingsError
		if errors.As(err, &bad) {
			bad.Variable = name
		}
		for _, w := range warnings {
			slog.Warn("memory: a setting has no effect",
				"variable", name, "key", w.Key, "text", w.Text, "reason", w.Reason)
		}
		return s, err
	}
	return Settings{}, nil
}
