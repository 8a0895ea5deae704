/** How long a key or a button is held to approve what can do much harm. */
export const HOLD_MS = 800
