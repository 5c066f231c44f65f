package memory_test
import ("testing";"math/rand/v2";"tarn/memory";"tarn/memory/memorytest";"fmt")
func TestZZFrag(t *testing.T) {
	for _, dist := range []int{0,1} {
	_, a := device(t, memorytest.FakeConfig{Capacity: 256 << 30}, memory.Config{NoBackgroundGC:true, SoftBudget: func(int64) int64 {return 1<<50}})
	r := rand.New(rand.NewPCG(1, 2))
	size := func() int64 { if dist==0 {return 1 + r.Int64N(512<<r.IntN(14))}; return 1 + r.Int64N(64<<20>>r.IntN(8)) }
	const live = 8000
	held := make([]memory.Handle, live)
	var peak int64
	for i := range held { b,_ := a.Alloc(size(),0,0); held[i]=b.Handle }
	for range 60*live { k := r.IntN(live); a.Free(held[k]); b,_ := a.Alloc(size(),0,0); held[k]=b.Handle }
	s := a.Stats()
	_ = peak
	fmt.Printf("dist %d reserved/peak active %.4f segs %d\n", dist, float64(s.ReservedBytes.All.Peak)/float64(s.ActiveBytes.All.Peak), s.NumDeviceAlloc)
	}
}
