import { ref } from 'vue'

const query = matchMedia('(max-width: 767px)')

/** Whether the screen is as narrow as a phone's. */
export const narrow = ref(query.matches)
query.addEventListener('change', (ev) => (narrow.value = ev.matches))
