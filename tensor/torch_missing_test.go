package tensor_test

// notHere are the ops of the fixtures that this package does not have, and why.
// One that it has by now must not be listed.
var notHere = map[string]string{
	"matmul": batched, "linear": batched, "einsum": batched,
	"gather": indexing, "scatter": indexing, "scatter_add": indexing, "index_select": indexing, "index_add": indexing, "embedding": indexing,
	"one_hot": indexing, "triu": indexing, "tril": indexing,
	"concat": joining, "stack": joining, "pad": joining, "roll": joining, "flip": joining, "repeat": joining,
}

const (
	batched  = "products are of two matrices"
	indexing = "there is no indexing by a tensor"
	joining  = "there is nothing that joins tensors or moves elements"
)
