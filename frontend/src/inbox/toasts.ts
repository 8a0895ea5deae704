import { ref, shallowRef } from 'vue'
import { onOwner } from '@/connection/owner'

/**
 * The requests of which a toast was closed here, by request_id. A server that was
 * started anew may name them again.
 */
export const closed = shallowRef<ReadonlySet<string>>(new Set())
onOwner(() => (closed.value = new Set()))

/** When this page came, Unix seconds; what waited already is what its first words tell. */
export const came = performance.timeOrigin / 1000

const query = matchMedia('(max-height: 560px)')

/** Whether there is no room for several. */
export const low = ref(query.matches)
query.addEventListener('change', (ev) => (low.value = ev.matches))
