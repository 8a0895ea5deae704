/** Status describes the connection to the server. Times are milliseconds. */
export type Status =
  | { kind: 'connecting'; since: number }
  | { kind: 'open' }
  | { kind: 'waiting'; since: number; retryAt: number }
  | { kind: 'signed_out' }
  | { kind: 'outdated' }
  | { kind: 'stopped' }
