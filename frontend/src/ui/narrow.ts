import { ref } from 'vue'

const query = matchMedia('(max-width: 767px)')

/** Whether the screen is as narrow as a phone's. */
export const narrow = ref(query.matches)
query.addEventListener('change', (ev) => (narrow.value = ev.matches))

const medium = matchMedia('(max-width: 1023px)')

/** Whether there is room for a list or for what is chosen in it, not for both beside the rail. */
export const single = ref(medium.matches)
medium.addEventListener('change', (ev) => (single.value = ev.matches))
