/** WebCrypto, which is a module in Node 18, and global everywhere else. */
export async function webCrypto(): Promise<Crypto> {
  const name = "node:crypto"; // not said below, so that no bundler for browsers looks for it
  return (
    globalThis.crypto ?? (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)).webcrypto
  );
}
