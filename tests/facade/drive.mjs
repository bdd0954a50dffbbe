// Does with the published JavaScript client what each line of the input says, and tells what came of it.
import { createInterface } from "node:readline";
import Firecrawl from "@mendable/firecrawl-js";

const [apiUrl, apiKey] = process.argv.slice(2);
const client = new Firecrawl({ apiUrl, apiKey });

async function done({ method, args, options }) {
  try {
    const given = Object.keys(options).length ? [...args, options] : args;
    return { answer: await client[method](...given) };
  } catch (error) {
    return { error: { kind: error.name, status: error.status, code: error.code, message: error.message } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await done(JSON.parse(line))));
}
