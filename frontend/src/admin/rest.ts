import type { ProcessList } from '@/wsapi/messages.gen'
import { call } from '@/wsapi/rest'

export const admin = {
  processes: () => call<ProcessList>('GET', '/api/processes'),
}
