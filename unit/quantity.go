package unit

// Physical quantities, each of its own type: adding watts to joules does not
// compile. Products and quotients go through methods that know the result's
// unit. Values are in the base unit that the type names.
type (
	// Seconds is a length of time.
	Seconds float64
	// Bytes is an amount of data; 8 bits each.
	Bytes float64
	// BytesPerSecond is a flow of data.
	BytesPerSecond float64
	// Ops is a number of operations.
	Ops float64
	// OpsPerSecond is a throughput.
	OpsPerSecond float64
	// OpsPerJoule is a throughput per watt: (ops/s)/W = ops/J.
	OpsPerJoule float64
	// Watts is power.
	Watts float64
	// Joules is energy.
	Joules float64
)

// Over returns the energy of constant power over a time.
func (w Watts) Over(t Seconds) Joules { return Joules(float64(w) * float64(t)) }

// Over returns the mean power of an energy spent over a time.
func (j Joules) Over(t Seconds) Watts { return Watts(float64(j) / float64(t)) }

// KilowattHours returns the energy in the unit of tariffs: 1 kWh = 3.6 MJ.
func (j Joules) KilowattHours() float64 { return float64(j) / 3.6e6 }

// BTUPerHour returns the heat that power becomes: 1 W = 3.412142 BTU/h.
func (w Watts) BTUPerHour() float64 { return float64(w) * 3.412141633 }

// Over returns the mean flow of an amount of data moved in a time.
func (b Bytes) Over(t Seconds) BytesPerSecond { return BytesPerSecond(float64(b) / float64(t)) }

// Over returns the mean throughput of operations done in a time.
func (o Ops) Over(t Seconds) OpsPerSecond { return OpsPerSecond(float64(o) / float64(t)) }

// PerWatt returns the throughput per watt.
func (r OpsPerSecond) PerWatt(w Watts) OpsPerJoule { return OpsPerJoule(float64(r) / float64(w)) }
