import { count } from '@/i18n'

// The words of the admin area, which is loaded when it is opened.
export const words = {
  title: 'Admin',
  nav: 'Admin pages',
  back: 'Back to the sessions',
  pages: {
    processes: 'Processes', people: 'People', tokens: 'Tokens', projects: 'Projects', grants: 'Grants', audit: 'Audit', settings: 'Settings',
  },
  nothing: 'There is nothing here that you may see.',
  loading: 'Loading…',
  again: 'Try again',

  processes: {
    none: 'Nothing runs. A session that is started or resumed appears here.',
    count: (n: number) => count(n, 'process', 'processes'),
    session: 'Session',
    state: 'State',
    waitsFor: 'Waits for',
    inState: 'In this state',
    memory: 'Memory',
    cpu: 'CPU',
    tabs: 'Tabs',
  },
}
