import { shallowRef } from 'vue'
import { onOwner } from '@/connection/owner'

/** The requests whose toast was closed here, by request_id: a restarted server may name them again. */
export const closed = shallowRef<ReadonlySet<string>>(new Set())
onOwner(() => (closed.value = new Set()))

/** When this page was loaded, in Unix seconds. Older requests get no toast. */
export const loadedAt = performance.timeOrigin / 1000
