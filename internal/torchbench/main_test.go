//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServe(t *testing.T) {
	var out strings.Builder
	require.NoError(t, serve(strings.NewReader(
		`{"op":"attention","shape":[1,2,5,6,8],"flags":["causal"],"threads":1,"calls":2}
		 {"op":"attention","shape":[1,2,5,6,8],"flags":["backward"],"threads":1,"calls":2}
		 {"op":"conv","shape":[1,2,5,4,3,1,1,2],"flags":[],"threads":1,"calls":1}
		 {"op":"conv","shape":[1,2,5,4,3,1,1,2],"flags":["weight"],"threads":1,"calls":1}
		 {"op":"pool","shape":[1,2,5,2,2,0],"flags":["mean","input"],"threads":1,"calls":1}
		 {"op":"norms","shape":[3,40],"flags":["layer_norm","backward"],"threads":1,"calls":1}
		 {"op":"batchnorm","shape":[3,4,5],"flags":["backward"],"threads":1,"calls":1}
		 {"op":"norms","shape":[3,40],"flags":["softmax"],"threads":1,"calls":1}`), &out))
	answers := json.NewDecoder(strings.NewReader(out.String()))
	for range 8 {
		var a answer
		require.NoError(t, answers.Decode(&a))
		require.Positive(t, a.Wall)
	}
	require.False(t, answers.More())
}

func TestServeBadRequests(t *testing.T) {
	for request, says := range map[string]string{
		`{"op":"none"}`:                  "no such op",
		`{"op":"attention","shape":[1]}`: "want B, H, L, S and D",
		`{"op":`:                         "EOF",
	} {
		require.ErrorContains(t, serve(strings.NewReader(request), new(strings.Builder)), says, request)
	}
}
