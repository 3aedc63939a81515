// How the page is built: three files of fixed names, so that the program can name them, and the same
// bytes on every machine.
import { defineConfig } from "vite";

export default defineConfig({
  base: "./",
  // An address such as `/compare` is no file: the page has one, and the rest is its query.
  appType: "mpa",
  publicDir: "public",
  build: {
    outDir: process.env["WHIT_PAGE_OUT"] ?? "../crates/serve/page_files",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    // A picture inside of the style sheet would be a `data:` address, which the page's policy refuses.
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        entryFileNames: "assets/page.js",
        assetFileNames: "assets/page[extname]",
        codeSplitting: false,
      },
    },
  },
});
