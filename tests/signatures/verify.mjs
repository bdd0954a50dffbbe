// Verifies signed messages with code that is not ours. One JSON case a line comes in, one JSON answer a line goes out.
//
//   {"verifier": "rfc9421", "now": 1, "directory": "<JWK Set>", "label": "sig1", "message": {…}}
//   {"verified": true, "keyid": "…", "components": ["\"@method\"", …]}   or   {"verified": false, "reason": "…"}
import { createHash, webcrypto } from "node:crypto";
import { createInterface } from "node:readline";
import { componentIdentity, verifySignature, webcrypto as keys } from "http-message-sig";
import { helpers, jwkToKeyID, verify as verifyBot } from "web-bot-auth";
import { verifierFromJWK } from "web-bot-auth/crypto";

// web-bot-auth reads the clock itself, so the clock is set to the case's time.
let now = 0;
const SystemDate = Date;
globalThis.Date = class extends SystemDate {
  constructor(...given) {
    super(...(given.length ? given : [now * 1000]));
  }
  static now() {
    return now * 1000;
  }
};

// A key is looked up by the thumbprint of what the directory holds, whatever `kid` the directory gives it.
async function keyFrom(directory, keyid) {
  for (const jwk of JSON.parse(directory).keys) {
    if ((await jwkToKeyID(jwk, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE)) === keyid) return jwk;
  }
  throw Object.assign(new Error(`no key ${keyid}`), { code: "UnknownKey" });
}

function described(message) {
  const fields = Object.entries(message.headers).map(([name, value]) => ({ name, value }));
  if (message.status === undefined) return { kind: "request", method: message.method, targetUri: message.url, fields };
  return { kind: "response", status: message.status, fields, request: described(message.request) };
}

function checkDigest(message) {
  if (message.body === undefined) return;
  const found = `sha-256=:${createHash("sha256").update(message.body).digest("base64")}:`;
  const said = message.headers["Content-Digest"];
  if (found !== said) throw Object.assign(new Error(`${said} is not ${found}`), { code: "BadDigest" });
}

const verifiers = {
  async rfc9421({ directory, label, message }) {
    checkDigest(message);
    const signature = await verifySignature(described(message), {
      label,
      policy: { algorithms: ["ed25519"], requiredComponents: [], requiredParameters: ["created", "expires"], now },
      async resolveVerifier({ parameters }) {
        const { kty, crv, x } = await keyFrom(directory, parameters.keyid);
        const key = await webcrypto.subtle.importKey("jwk", { kty, crv, x }, { name: "Ed25519" }, true, ["verify"]);
        return keys.verifier(key);
      },
    });
    const { keyid, tag } = signature.parameters;
    return { keyid, tag, components: signature.components.map(componentIdentity) };
  },
  async "web-bot-auth"({ directory, message }) {
    let found;
    await verifyBot(message, async (signed, signature, parameters) => {
      found = parameters;
      return (await verifierFromJWK(await keyFrom(directory, parameters.keyid)))(signed, signature, parameters);
    });
    return { keyid: found.keyid, tag: found.tag };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const given = JSON.parse(line);
    now = given.now;
    answer = { verified: true, ...(await verifiers[given.verifier](given)) };
  } catch (error) {
    answer = { verified: false, reason: error.cause?.code ?? error.code ?? error.message };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
