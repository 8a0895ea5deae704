// The suite imports globSync of node:fs, which Node 20 has not, for a command that
// is not used here. This gives it one that finds nothing.
import { register } from 'node:module'
import * as fs from 'node:fs'

if (!('globSync' in fs)) {
  const stand = 'export * from "node:fs"; export { default } from "node:fs"; export const globSync = () => [];'
  const hooks = `
    export async function resolve(specifier, context, next) {
      if (specifier === "fs" && context.parentURL?.includes("@modelcontextprotocol/conformance")) {
        return { url: ${JSON.stringify('data:text/javascript,' + encodeURIComponent(stand))}, shortCircuit: true };
      }
      return next(specifier, context);
    }`
  register('data:text/javascript,' + encodeURIComponent(hooks))
}
