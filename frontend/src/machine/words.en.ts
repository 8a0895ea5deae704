import { count } from '@/i18n'

export const words = {
  label: 'Machine',
  any: 'Any machine',
  anyHint: 'Starts on the machine with the most free capacity that has the folder.',
  labels: 'With labels',
  option: (name: string, detail: string) => `${name} (${detail})`,
  running: (n: number) => `${n} running`,
  runningOf: (n: number, max: number) => `${n} of ${max} running`,
  here: 'This server',
  none: {
    title: 'No machine is connected',
    lead: 'This server starts no sessions itself. They start on machines that connect to it.',
    admin: 'Add a machine, and run sayso runner on it. docs/operating/runners.md explains how.',
    member: 'Ask an admin to connect a machine.',
    add: 'Add a machine',
  },
  machines: (n: number) => count(n, 'machine', 'machines'),
  offline: (n: number) => `${n} offline`,
  states: {
    ready: 'Ready',
    unreachable: 'Offline',
    paused: 'Paused',
    draining: 'Draining',
    full: 'Full',
    problem: 'Not set up',
  },
  why: {
    unreachable: (name: string) => `${name} is offline. Its sessions continue there, and answers wait for it.`,
    unreachableSince: (name: string, when: string) =>
      `${name} is offline, last seen ${when}. Its sessions continue there, and answers wait for it.`,
    paused: (name: string) => `${name} is paused and takes no new sessions.`,
    draining: (name: string) => `${name} is draining and starts no sessions.`,
    full: (name: string, max: number) => `${name} already runs its maximum of ${count(max, 'session', 'sessions')}.`,
  },
  of: (name: string) => `Machine ${name}`,
  ofOffline: (name: string) => `Machine ${name}, offline`,
}
