import { defineAsyncComponent } from 'vue'

// Rare enough to be fetched when there is one.
export const Visit = defineAsyncComponent(() => import('./Visit.vue'))
