// Permalinks: the scenario's text, deflated, in the part of the address that no server sees.

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

/** The text as a word for an address. */
export async function packed(text) {
  const bytes = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text of a word that `packed` made; null for anything else, or for more than a million bytes. */
export async function unpacked(word) {
  try {
    const binary = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
    const stream = new Blob([Uint8Array.from(binary, (each) => each.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    let text = "";
    const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += part.value;
      if (text.length > 1_000_000) return null;
    }
    return text;
  } catch {
    return null;
  }
}
