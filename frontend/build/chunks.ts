interface Modules {
  getModuleInfo(id: string): { importers: readonly string[] } | null
}

/**
 * Names the chunk of a module: that of the first of the entries whose static imports
 * reach it; null when none does, and the bundler decides. So what is fetched together
 * anyway is one file and not a dozen: for each a browser asks, six at a time over
 * HTTP/1.1, and starts a script.
 */
export function together(chunks: readonly (readonly [name: string, entry: string])[]) {
  return (id: string, modules: Modules): string | null => {
    const above = new Set([id])
    // A set tells what is added while it is walked.
    for (const one of above) modules.getModuleInfo(one)?.importers.forEach((importer) => above.add(importer))
    const reached = (entry: string) => [...above].some((one) => one.split('?')[0]!.endsWith(entry))
    return chunks.find(([, entry]) => reached(entry))?.[0] ?? null
  }
}
