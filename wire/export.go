package wire

// Export requests the transcript of a session as a file.
type Export struct {
	Format   string `json:"format" validate:"required,oneof=markdown html"`
	Language string `json:"language,omitempty" validate:"omitempty,oneof=en de"` // of the labels; English unless given
}
