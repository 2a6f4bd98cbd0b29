package main

const diesWithItsParent = true
